"""The programs of Show 3: shell scripts, so that also the shell, pipes and children run translated.

Each runs in an empty folder; what it prints and the files that it leaves there are its output.
"""

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from lib import inputs, scripts
from lib.paths import RAYON, REPOSITORY, compile_c, scratch

SOURCES = Path(__file__).resolve().parent / "sources"
PYTHON = "/usr/bin/python3"
# PostgreSQL refuses to be run by root.
POSTGRES_USER = "postgres"
# What Debian keeps out of PATH.
FOLDERS = ["/usr/games", *sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")))]

# All of CPython's own tests that take a second or so, depend on neither network nor terminal, and pass natively.
PYTHON_TESTS = ("test_list test_dict test_set test_json test_re test_struct test_array test_bytes test_unicode test_float "
                "test_complex test_decimal test_generators test_exceptions test_zlib test_hashlib test_pickle test_sort "
                "test_heapq test_itertools test_mmap test_select test_fork1 test_ctypes test_wait4")
PYTHON_THREADED_TESTS = "test_thread test_threading_local test_queue test_signal test_subprocess test_faulthandler"


@dataclass
class Case:
    """`needs`: commands and files without which it is skipped. `fresh`: not used during development.

    `user`: who runs it, where that cannot be root.
    """

    name: str
    script: str
    threaded: bool = False
    fresh: bool = False
    needs: list = field(default_factory=list)
    env: dict = field(default_factory=dict)
    user: str = None

    def lacks(self):
        """The first need that this machine does not meet."""
        return next((need for need in self.needs if not (shutil.which(need, path=search_path()) or os.path.exists(need))), None)

    def environment(self):
        """Fixed but for where things are."""
        return {"PATH": search_path(), "HOME": "/nonexistent", "LC_ALL": "C.UTF-8", "TZ": "UTC",
                **scripts_environment(), **self.env}


def search_path():
    return ":".join(["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin", *FOLDERS])


def scripts_environment():
    """What the scripts find their inputs by."""
    return {"TEXT": str(inputs.text(9)), "SMALL": str(inputs.text(2)), "NUMBERS": str(inputs.numbers(200_000)),
            "SOURCES": str(SOURCES), "PYTHON": PYTHON, "RAYON": str(RAYON), "SETTLED": str(scratch("settled"))}


def cases():
    """All of them, those that threads take part in marked; makes what they need where missing."""
    stencil = compile_c(REPOSITORY / "programs" / "targets" / "stencil.c", "stencil", "-fopenmp")
    sql = inputs.script("transparency.sql", scripts.SQL.replace("{rows}", "60_000".replace("_", "")))
    python = inputs.script("transparency.py", scripts.PYTHON.replace("SIZE", "60000"))
    node = inputs.script("transparency.js", scripts.NODE % {"size": 1_500_000})
    big_c = inputs.made("big.c", lambda file: file.write(big_source().encode()))
    return [*coreutils(), *compressors(), *interpreters(python, node), *compilers(big_c), *servers(),
            *libraries(stencil, sql), *endings(), *unseen()]


def coreutils():
    yield Case("sort", "LC_ALL=C sort --parallel=2 -S 64M -o sorted $NUMBERS; LC_ALL=C sort -u -k2n --parallel=2 $NUMBERS", threaded=True)
    yield Case("checksums", "cd /; for sum in md5sum sha1sum sha224sum sha256sum sha512sum b2sum cksum sum; do $sum < $TEXT; done")
    yield Case("wc", "wc < $TEXT; wc -L < $TEXT")
    yield Case("tr, cut, uniq", "tr a-z A-Z < $TEXT | cut -d' ' -f2-5 | uniq -c | cut -c1-60 | tr -s ' ' > out")
    yield Case("tac, rev, nl, paste", "tac $TEXT | rev | nl | paste - - > out; fold -w 30 $SMALL | expand | fmt -w 50 > fmt")
    yield Case("join, comm, split", "sort $NUMBERS > a; sort -r $NUMBERS | sort > b; comm -12 a b | wc; join a b > j; split -n 7 j part")
    yield Case("od, base64", "od -t x8z $SMALL | md5sum; base64 $TEXT | base64 -d > out")
    yield Case("seq | factor", "seq 1000000000000000000 3 1000000000000003000 | factor; seq 1 2000000 | tail -n 3")
    yield Case("shuf", "shuf --random-source=$TEXT $NUMBERS > out")
    yield Case("dd", "dd if=$TEXT of=out bs=777 status=none; dd if=out bs=1M conv=ucase status=none | cksum")
    yield Case("awk", "mawk '{for(i=1;i<=NF;i++)n[$i]++} END{for(w in n) print n[w], w}' $TEXT | sort -k1nr -k2 | head -50", needs=["mawk"])
    yield Case("gawk", "gawk '{n[length($0)]++; $3=toupper($3); print} END{PROCINFO[\"sorted_in\"]=\"@ind_num_asc\"; for(l in n) print l, n[l]}' $SMALL > out", needs=["gawk"])
    yield Case("sed", "sed -E 's/([a-z]+) ([a-z]+)/\\2 \\1/g; /^e/d; y/abc/xyz/' $TEXT > out")
    yield Case("grep", "grep -c e $TEXT; grep -E -o '\\b[a-z]*(tion|ee)[a-z]*' $TEXT | sort | uniq -c; grep -P -c '(?<=t)h.*e$' $SMALL || :")
    yield Case("tar", "mkdir in; for i in 1 2 3 4 5; do cp $SMALL in/$i; done; tar --mtime=@0 --sort=name -cf a.tar in; mkdir out; tar -xf a.tar -C out; rm -r in; gzip -n a.tar")
    yield Case("find | xargs", "find /usr/share/doc -name 'c*' -type f | sort | xargs -P2 -n200 md5sum | sort | cksum; find /usr/include -name '*.h' -size +8k | sort", threaded=True)
    yield Case("diff, patch", "head -20000 $TEXT > a; sed '3~7d;5~11s/e/E/g' a > b; diff -u --label a --label b a b > p || :; patch -s a p; cmp a b; diff3 a b a", needs=["patch"])
    yield Case("rsync", "mkdir a; cp $SMALL $NUMBERS a; rsync -rt --checksum a/ b; sed -i 5000,6000d b/*; rsync -rt --checksum --no-whole-file a/ b; ls b", needs=["rsync"])
    yield Case("bc, dc", "echo 'scale=700; 4*a(1); e(1)' | bc -l; echo '3 2 20000 ^ * 7 | p' | sed 's/|/+/' | dc; dc -e '1 1 [pdk]sx 500 [d2-] sy 2 3000 ^ p'", needs=["bc", "dc"])


def compressors():
    yield Case("gzip", "gzip -n -c $TEXT > out.gz; gzip -dc out.gz > out; gzip -t out.gz")
    yield Case("xz", "xz -T2 -2 --block-size=1MiB -k -c $TEXT > out.xz; xz -T2 -dc out.xz > out", threaded=True, needs=["xz"])
    yield Case("zstd", "zstd -q -T2 -9 $TEXT -o out.zst; zstd -q -dc out.zst > out; zstd -q -T2 --ultra -20 $SMALL -o 2.zst", threaded=True, needs=["zstd"])
    yield Case("bzip2", "bzip2 -c $TEXT > out.bz2; bzip2 -dc out.bz2 > out", needs=["bzip2"])
    yield Case("lbzip2", "lbzip2 -n2 -k -c $TEXT > out.bz2; lbzip2 -n2 -dc out.bz2 > out", threaded=True, needs=["lbzip2"])
    yield Case("pigz", "pigz -p2 -n -c $TEXT > out.gz; pigz -p2 -dc out.gz > out", threaded=True, needs=["pigz"])
    yield Case("zip", "cp $SMALL a; touch -d @0 a; zip -X -q a.zip a; unzip -p a.zip > b", needs=["zip", "unzip"])


def interpreters(python, node):
    yield Case("python3", f"$PYTHON {python}", threaded=True, env={"PYTHONHASHSEED": "0"}, needs=[PYTHON])
    timeless = "grep -E '^(0:|==|All|Ran|test)' | sed -E 's/load avg: [0-9.]* ?//; s/^[0-9:]+ //; s/ \\([0-9.]+ (ms|sec)\\)//'"
    suite = ["/usr/lib/python3.11/test/test_list.py"]
    for name, tests, threaded in [("python3's tests", PYTHON_TESTS, False), ("python3's tests of threads and processes", PYTHON_THREADED_TESTS, True)]:
        yield Case(name, f"export HOME=$PWD TMPDIR=$PWD; {{ $PYTHON -m test {tests} 2>&1; echo \"status $?\"; }} > log; {timeless} < log; tail -1 log; grep -E '^(FAIL|ERROR)' log || :; cp log $SETTLED/log; rm -rf log .[a-z]*",
                   threaded=threaded, needs=suite)
    yield Case("perl", "perl -ne 'for (split) { $n{lc $_}++ } END { print map { \"$n{$_} $_\\n\" } sort { $n{$b} <=> $n{$a} || $a cmp $b } keys %n }' $TEXT > out; perl -e 'eval { die { code => 7 } }; print $@->{code}; fork // die; wait; print join \",\", map { sprintf \"%.3e\", sin $_ } 1..999'")
    yield Case("node", f"node {node}; node -e 'try {{ null.x }} catch (e) {{ console.log(e.message) }}; process.exitCode = 3' || echo $?", threaded=True, needs=["node"])
    yield Case("java", "cp $SETTLED/java/*.class .; java -Xmx256m Threads", threaded=True, needs=["java", "javac"])
    yield Case("ruby", "ruby -e 'h = Hash.new(0); File.foreach(ENV[\"SMALL\"]) { |l| l.split.each { |w| h[w] += 1 } }; puts h.sort_by { |w, n| [-n, w] }.first(40).inspect; puts (1..4).map { |i| Thread.new { (1..20000).reduce { |a, b| (a * b) % 1000007 } + i } }.map(&:value).inspect; begin; raise \"x\"; rescue => e; p e; end; GC.start; puts (2**3000)'", threaded=True, needs=["ruby"])
    yield Case("lua", "lua -e 'local s=0; for i=1,3000000 do s=(s*31+i)%1000003 end print(s) local t={} for i=1,50000 do t[i]=(i*7919)%50021 end table.sort(t) print(t[1],t[25000]) print(pcall(error,\"x\")) local c=coroutine.wrap(function() for i=1,3 do coroutine.yield(i) end end) print(c(),c(),c())'", needs=["lua"])
    yield Case("php", "php -r '$a=[]; for($i=0;$i<400000;$i++){$a[md5((string)($i%5000))]=$i;} ksort($a); echo crc32(serialize($a)),\"\\n\"; try { intdiv(1,0); } catch (Error $e) { echo $e->getMessage(),\"\\n\"; } echo preg_replace_callback(\"/\\d+/\", fn($m)=>$m[0]*2, \"a1b22c333\");'", needs=["php"])
    yield Case("tclsh", "echo 'set s 0; for {set i 0} {$i < 300000} {incr i} {set s [expr {($s*31+$i)%1000003}]}; puts $s; puts [catch {error x} m]; puts [lsort -integer -decreasing {3 1 2}]; puts [expr {2**500}]' | tclsh", needs=["tclsh"])
    yield Case("bash", "bash $SOURCES/signals.sh || echo $?; bash -c 'a=0; for ((i=0; i<60000; i++)); do ((a=(a*31+i)%1000003)); done; echo $a; x=$(for i in {1..50}; do echo $(echo $i); done); echo $x'")
    yield Case("jq", "echo '[range(20000)|{id:.,name:\"n\\(.*7919%20011)\"}]|sort_by(.name)|group_by(.id%7)|map({n:length,first:.[0].name,ids:map(.id)|add})' > p; jq -n -f p", needs=["jq"])
    yield Case("vim", "cp $SMALL text; vim.tiny -u NONE -es -c '%s/\\v(\\w+) (\\w+)/\\2 \\1/ge' -c 'g/^e/d' -c 'sort u' -c 'wq! out' text || echo $?; rm -f .*.sw? text", needs=["vim.tiny"])
    yield Case("gs", "gs -q -dNOPAUSE -dBATCH -sDEVICE=ppmraw -r150 -sOutputFile=out.ppm $SOURCES/page.ps; gs -q -dNOPAUSE -dBATCH -sDEVICE=bmpmono -r200 -sOutputFile=out.bmp $SOURCES/page.ps", needs=["gs"], env={"HOME": "/tmp", "SOURCE_DATE_EPOCH": "0"})
    yield Case("groff", "zcat -f /usr/share/man/man1/*.1.gz | head -c 400000 | groff -man -Tutf8 2>/dev/null > out; echo $?", needs=["groff"])


def compilers(big_c):
    yield Case("gcc", f"cp {big_c} big.c; gcc -O2 -g -c big.c; gcc -O0 -S big.c -o big.s; gcc -O2 -flto -frandom-seed=1 -c big.c -o lto.o", needs=["gcc"])
    yield Case("g++", "cp $SOURCES/containers.cc .; g++ -std=c++17 -O2 -g -c containers.cc; g++ -std=c++17 -O2 containers.cc -o containers; ./containers", needs=["g++"])
    yield Case("make -j2", f"split -n l/4 --additional-suffix=.c {big_c} part 2>/dev/null; head -400 {big_c} > one.c; cp one.c two.c; printf 'all: one.o two.o three.s\\nthree.s: one.c\\n\\tgcc -O1 -S $< -o $@\\n%%.o: %%.c\\n\\tgcc -O2 -c $<\\n' > Makefile; rm part*; make -s -j2; ar rcD all.a one.o two.o; nm all.a", threaded=True, needs=["make", "gcc"])
    yield Case("gfortran's, ld, objdump, strip", "objdump -d $(command -v sort) | tail -n 4000; readelf -a $(command -v sort) > out; strip -o stripped $(command -v sort)", needs=["objdump"])
    yield Case("rustc", "cp $SOURCES/words.rs .; /root/.cargo/bin/rustc --edition 2021 -O words.rs -C codegen-units=2 --emit=metadata,obj; ls", threaded=True, needs=["/root/.cargo/bin/rustc"])
    yield Case("git", """export HOME=$PWD GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z' GIT_PAGER=cat
git init -q -b main r; cd r; git config user.name n; git config user.email e@x; git config pack.threads 2
for i in 1 2 3 4 5 6; do head -${i}000 $TEXT | sed "s/a/$i/" > file; git add file; git commit -q -m "change $i"; done
git log --stat --format=%H%n%s; git blame -s file | cksum; git gc -q --aggressive; git fsck --full 2>&1; cd ..
git clone -q --no-local r c; git -C c rev-list --objects --all; git -C c diff HEAD~3 | cksum; rm -rf r c .git*""", threaded=True, needs=["git"])
    yield Case("gdb", "gdb -nx --batch -ex 'ptype struct team' -ex 'disassemble main' -ex 'info functions main' $SETTLED/ring || echo $?", needs=["gdb", "mpicc"])
    yield Case("go (cgo)", "$SETTLED/workers", threaded=True, needs=["go", "gcc"])


def servers():
    yield Case("redis-server under redis-benchmark", """redis-server --port 16479 --save '' --appendonly no --io-threads 2 --enable-debug-command local > /dev/null &
until redis-cli -p 16479 ping > /dev/null 2>&1; do sleep 0.05; done
redis-benchmark -p 16479 -q -n 5000 -c 20 -P 8 -t set,get,incr,lpush,lpop,hset,zadd > /dev/null
redis-cli -p 16479 debug digest; redis-cli -p 16479 shutdown nosave; wait $!; echo $?""", threaded=True, needs=["redis-server", "redis-benchmark"])
    yield Case("postgres: initdb, pgbench", """export PGHOST=$PWD PGPORT=16480 PGDATA=$PWD/data HOME=$PWD
initdb -A trust --no-sync > /dev/null; pg_ctl -s -w -l log -o "-k $PWD -p 16480 -c listen_addresses= -c fsync=off" start
pgbench -q -i -s 1 postgres > /dev/null 2>&1; pgbench -n -c 2 -j 2 -t 100 --random-seed=1 postgres > /dev/null 2>&1; echo $?
psql -At postgres -c 'select sum(abalance), count(*) from pgbench_accounts' -c 'select sum(bbalance) from pgbench_branches' -c 'select count(*) from pgbench_history' -c 'select 1/0' 2>&1 || echo $?
pg_ctl -s -w -m fast stop; grep -c -i -E 'panic|signal|crash' log || :; rm -rf data log .s*""", threaded=True, needs=["initdb", "pgbench"], user=POSTGRES_USER)


def libraries(stencil, sql):
    yield Case("sqlite3", f"sqlite3 -bail data.db '.read {sql}'; sqlite3 data.db 'pragma integrity_check; select count(distinct b) from t;'", threaded=True, needs=["sqlite3"])
    yield Case("ffmpeg", "ffmpeg -nostdin -v error -f lavfi -i testsrc2=size=320x180:rate=25 -frames:v 60 -c:v libx264 -threads 2 -fflags +bitexact -flags:v +bitexact -f h264 out.h264; ffmpeg -nostdin -v error -f lavfi -i sine=440:d=8 -c:a flac -fflags +bitexact -flags:a +bitexact out.flac; ffmpeg -nostdin -v error -i out.h264 -f md5 -", threaded=True, needs=["ffmpeg"])
    yield Case("openssl dgst, enc", "for d in sha256 sha512 sha3-256 blake2b512 md5; do openssl dgst -$d < $TEXT; done; for c in aes-256-ctr aes-128-cbc chacha20; do openssl enc -$c -K 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff -iv 000102030405060708090a0b0c0d0e0f -in $TEXT 2>/dev/null | cksum; done; openssl prime -hex 1FFFFFFFFFFFFFFF", needs=["openssl"])
    yield Case("openssl speed", "openssl speed -seconds 1 -bytes 1024 sha256 > /dev/null 2>&1; echo $?; openssl speed -seconds 1 rsa2048 ecdsap256 > /dev/null 2>&1; echo $?; openssl speed -seconds 1 -evp aes-128-gcm -multi 2 > /dev/null 2>&1; echo $?", needs=["openssl"])
    yield Case("curl", "curl -s file://$TEXT -o out; curl -s file:///nonexistent || echo $?; curl -s 'file://'$SMALL | cksum", needs=["curl"])
    yield Case("gm", "gm convert -size 400x300 gradient:navy-gold -swirl 720 -blur 0x6 -modulate 110,150,80 -resize 150% -sharpen 0x3 out.ppm", threaded=True, needs=["gm"], env={"OMP_NUM_THREADS": "2"})
    yield Case("OpenMP: stencil", f"{stencil} 512 300", threaded=True, env={"OMP_NUM_THREADS": "2"})
    yield Case("MPI: ring", "mpirun --allow-run-as-root --oversubscribe -n 2 $SETTLED/ring", threaded=True, needs=["mpirun", "mpicc"], env={"HOME": "/tmp"})
    yield Case("Rust: carom-rayon", "$RAYON --numbers 400000 --rounds 5 | sed 's/\"seconds.*//'", threaded=True, env={"RAYON_NUM_THREADS": "2"})


def endings():
    """Programs whose end is the point: the signal, the status, the handlers."""
    for name, script in [("SIGSEGV", "exec perl -e '$| = 1; print 1; unpack \"p\", pack \"J\", 64'"),
                         ("SIGABRT", "exec perl -MPOSIX -e 'print 2; abort'"),
                         ("SIGKILL", "exec perl -e 'kill 9, $$'"),
                         ("SIGTERM from outside", "exec perl -e '$p = $$; if (!fork) { select undef, undef, undef, 0.3; kill 15, $p } else { sleep 9 }'"),
                         ("SIGPIPE", "exec bash -c 'yes | head -1; echo ${PIPESTATUS[0]}; set -o pipefail; yes | head -1'"),
                         ("exit status 77", "exec perl -e 'END { print 3 } exit 77'")]:
        yield Case(f"ends by {name}", script)


def unseen():
    """Run for the first time when development had ended."""
    yield Case("7zz", "cp $SMALL text; touch -d @0 text; 7zz a -bd -bso0 -mmt=2 -mtm=off -mx=5 a.7z text; 7zz x -so a.7z", threaded=True, fresh=True, needs=["7zz"])
    yield Case("stockfish", "printf 'setoption name Threads value 1\\nposition startpos\\ngo depth 9\\nquit\\n' > in; stockfish bench 16 1 7 2>&1 | grep -E 'bestmove|Nodes searched'", threaded=True, fresh=True, needs=["stockfish"])
    yield Case("flac, sox", "sox -R -n -r 44100 -b 16 a.wav synth 12 sine 300-3300 chorus 0.7 0.9 55 0.4 0.25 2 -t; flac -s --no-padding -8 a.wav -o a.flac; flac -s -d a.flac -o b.wav", fresh=True, needs=["flac", "sox"])
    yield Case("guile", "guile --no-auto-compile -c '(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (display (fib 24)) (display (catch #t (lambda () (car 1)) (lambda (k . r) k))) (display (expt 3 500))'", threaded=True, fresh=True, needs=["guile"], env={"HOME": "/tmp"})
    yield Case("optipng, imagemagick", "/usr/bin/convert -size 300x200 plasma:red-blue -seed 1 -strip x.ppm; /usr/bin/convert -size 200x200 gradient:red-blue -strip -swirl 200 -define png:exclude-chunks=date,time a.png; optipng -quiet -o2 a.png; rm x.ppm; /usr/bin/convert a.png ppm:- | cksum", threaded=True, fresh=True, needs=["optipng", "/usr/bin/convert"], env={"OMP_NUM_THREADS": "2"})
    yield Case("samtools", "printf '@HD\\tVN:1.6\\n@SQ\\tSN:c\\tLN:100000\\n' > a.sam; seq 1 20000 | mawk '{printf \"r%d\\t0\\tc\\t%d\\t60\\t8M\\t*\\t0\\t0\\tACGTACGT\\tIIIIIIII\\n\", $1, ($1 * 7919) % 99000 + 1}' >> a.sam; samtools sort --no-PG -@ 2 -o a.bam a.sam; samtools depth a.bam | cksum; samtools flagstat a.bam", threaded=True, fresh=True, needs=["samtools"])


def big_source():
    """C with functions enough to keep a compiler busy for a second or two."""
    return "\n".join(
        f"static unsigned f{i}(unsigned x, unsigned *p) {{ unsigned s = {i}; for (unsigned j = 0; j < x % 64; j++) "
        f"{{ s = s * 31 + p[j] * {i * 7 % 101 + 1}u; if (s & {1 << i % 20}u) p[j & 7] ^= s; else s += p[(j + {i}) & 15]; }} "
        f"switch (s % 6) {{ case 0: return s; case 1: return s ^ x; case 2: return p[3]; default: return s / (x + 1); }} }}\n"
        f"unsigned g{i}(unsigned x, unsigned *p) {{ return f{i}(x, p) + f{i}(x + 1, p + 1); }}" for i in range(300)) + "\n"
