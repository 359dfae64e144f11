#!/bin/sh
# The alert channel of the demo: says what it was told, as a phone would.
printf '\n   ☎  %s\n%s\n\n' "$DUECOURSE_ALERT_TITLE" "$DUECOURSE_ALERT_TEXT" >> alerts.txt
exit 0
