#!/bin/sh
# Long work: a minute on the first attempt, quick afterwards.
echo "attempt $DUECOURSE_ATTEMPT of $DUECOURSE_TASK begins, key $DUECOURSE_KEY"
[ "$DUECOURSE_ATTEMPT" = 1 ] && exec sleep 60
echo done
