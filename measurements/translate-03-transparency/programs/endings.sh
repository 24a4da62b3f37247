#: ends by SIGSEGV
exec perl -e '$| = 1; print 1; unpack "p", pack "J", 64'

#: ends by SIGABRT
exec perl -MPOSIX -e 'print 2; abort'

#: ends by SIGKILL
exec perl -e 'kill 9, $$'

#: ends by SIGTERM from outside
exec perl -e '$p = $$; if (!fork) { select undef, undef, undef, 0.3; kill 15, $p } else { sleep 9 }'

#: ends by SIGPIPE
exec bash -c 'yes | head -1; echo ${PIPESTATUS[0]}; set -o pipefail; yes | head -1'

#: ends by exit status 77
exec perl -e 'END { print 3 } exit 77'
