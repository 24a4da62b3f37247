# Traps, jobs, and children that end by signals.
trap 'echo usr1' USR1
trap 'echo end' EXIT
kill -USR1 $$
for number in 1 2 3 6 9 11 14 15; do
    sh -c "kill -$number \$\$" 2>/dev/null
    echo "$number: $?"
done
sleep 10 &
kill $!
wait $! 2>/dev/null
echo "sleep: $?"
timeout 0.2 sleep 10
echo "timeout: $?"
kill -TERM $$
