#: python3 | threaded | needs /usr/bin/python3 | PYTHONHASHSEED=0
$PYTHON $WORK_PY

#: python3's tests | needs /usr/bin/python3 /usr/lib/python3.11/test/test_list.py
sh $SOURCES/python_tests.sh test_list test_dict test_set test_json test_re test_struct test_array test_bytes \
    test_unicode test_float test_complex test_decimal test_generators test_exceptions test_zlib test_hashlib test_sort \
    test_heapq test_itertools test_mmap test_ctypes test_coroutines test_context

#: python3's tests, threads | threaded | needs /usr/bin/python3 /usr/lib/python3.11/test/test_list.py
sh $SOURCES/python_tests.sh test_thread test_threading_local test_threadsignals test_os test_posix test_gc

#: python3's tests, processes | needs /usr/bin/python3 /usr/lib/python3.11/test/test_list.py
# But for a test whose child looks for open descriptors up to the limit, and finds carom's at 4096.
sh $SOURCES/python_tests.sh -i test_pass_fds_redirected test_subprocess test_faulthandler test_eintr test_fork1

#: python3's tests, signals | needs /usr/bin/python3 /usr/lib/python3.11/test/test_list.py
sh $SOURCES/python_tests.sh test_signal

#: perl
perl -ne 'for (split) { $n{lc $_}++ } END { print map { "$n{$_} $_\n" } sort { $n{$b} <=> $n{$a} || $a cmp $b } keys %n }' \
    $TEXT > out
perl -e 'eval { die { code => 7 } }; print $@->{code}; fork // die; wait;
    print join ",", map { sprintf "%.3e", sin $_ } 1..999'

#: node | threaded | needs node
node $WORK_JS
node -e 'try { null.x } catch (e) { console.log(e.message) }; process.exitCode = 3' || echo $?

#: java | threaded | needs java javac
cp $BUILT/java/*.class .
java -Xmx256m Threads

#: ruby | threaded | needs ruby
ruby $SOURCES/words.rb

#: lua | needs lua
lua -e 'local s = 0; for i = 1, 3000000 do s = (s * 31 + i) % 1000003 end print(s)
    local t = {} for i = 1, 50000 do t[i] = (i * 7919) % 50021 end table.sort(t) print(t[1], t[25000])
    print(pcall(error, "x"))
    local c = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end) print(c(), c(), c())'

#: php | needs php
php -r '$a = []; for ($i = 0; $i < 400000; $i++) { $a[md5((string) ($i % 5000))] = $i; } ksort($a);
    echo crc32(serialize($a)), "\n";
    try { intdiv(1, 0); } catch (Error $e) { echo $e->getMessage(), "\n"; }
    echo preg_replace_callback("/\d+/", fn($m) => $m[0] * 2, "a1b22c333");'

#: tclsh | needs tclsh
echo 'set s 0; for {set i 0} {$i < 300000} {incr i} {set s [expr {($s*31+$i)%1000003}]}; puts $s; puts [catch {error x} m]
    puts [lsort -integer -decreasing {3 1 2}]; puts [expr {2**500}]' | tclsh

#: bash
bash $SOURCES/signals.sh || echo $?
bash -c 'a=0; for ((i=0; i<60000; i++)); do ((a=(a*31+i)%1000003)); done; echo $a
    x=$(for i in {1..50}; do echo $(echo $i); done); echo $x'

#: jq | needs jq
echo '[range(20000)|{id:.,name:"n\(.*7919%20011)"}]|sort_by(.name)
    |group_by(.id%7)|map({n:length,first:.[0].name,ids:map(.id)|add})' > p
jq -n -f p

#: vim | needs vim.tiny
cp $SMALL text
vim.tiny -u NONE -es -c '%s/\v(\w+) (\w+)/\2 \1/ge' -c 'g/^e/d' -c 'sort u' -c 'wq! out' text || echo $?
rm -f .*.sw? text

#: gs | needs gs | HOME=/tmp | SOURCE_DATE_EPOCH=0
gs -q -dNOPAUSE -dBATCH -sDEVICE=ppmraw -r150 -sOutputFile=out.ppm $SOURCES/page.ps
gs -q -dNOPAUSE -dBATCH -sDEVICE=bmpmono -r200 -sOutputFile=out.bmp $SOURCES/page.ps

#: groff | needs groff
zcat -f /usr/share/man/man1/*.1.gz | head -c 400000 | groff -man -Tutf8 2>/dev/null > out
echo $?
