#: redis-server under redis-benchmark | threaded | needs redis-server redis-benchmark
redis-server --port 16479 --save '' --appendonly no --io-threads 2 --enable-debug-command local > /dev/null &
until redis-cli -p 16479 ping > /dev/null 2>&1; do sleep 0.05; done
redis-benchmark -p 16479 -q -n 5000 -c 20 -P 8 -t set,get,incr,lpush,lpop,hset,zadd > /dev/null
redis-cli -p 16479 debug digest
redis-cli -p 16479 shutdown nosave
wait $!
echo $?

#: postgres: initdb, pgbench | threaded | needs initdb pgbench | user postgres
export PGHOST=$PWD PGPORT=16480 PGDATA=$PWD/data HOME=$PWD
initdb -A trust --no-sync > /dev/null
pg_ctl -s -w -l log -o "-k $PWD -p 16480 -c listen_addresses= -c fsync=off" start
pgbench -q -i -s 1 postgres > /dev/null 2>&1
pgbench -n -c 2 -j 2 -t 100 --random-seed=1 postgres > /dev/null 2>&1
echo $?
psql -At postgres -c 'select sum(abalance), count(*) from pgbench_accounts' \
    -c 'select sum(bbalance) from pgbench_branches' -c 'select count(*) from pgbench_history' \
    -c 'select 1/0' 2>&1 || echo $?
pg_ctl -s -w -m fast stop
grep -c -i -E 'panic|signal|crash' log || :
rm -rf data log .s*
