#!/bin/sh
# What happens around the tasks: the orders arrive late, the nightly load sets its flag.
# Usage: feeder.sh orders DATE | feeder.sh etl DUECOURSE DATE
case $1 in
  orders)
    mkdir -p data_in
    printf 'id,amount\n1,10\n2,20\n' > "data_in/$2.csv.part"
    mv "data_in/$2.csv.part" "data_in/$2.csv"
    ;;
  etl) "$2" flag set "daily_etl.finished_$3" --by feeder ;;
esac
