#: sqlite3 | threaded | needs sqlite3
sqlite3 -bail data.db ".read $WORK_SQL"
sqlite3 data.db 'pragma integrity_check; select count(distinct b) from t;'

#: ffmpeg | threaded | needs ffmpeg
ffmpeg -nostdin -v error -f lavfi -i testsrc2=size=320x180:rate=25 -frames:v 60 \
    -c:v libx264 -threads 2 -fflags +bitexact -flags:v +bitexact -f h264 out.h264
ffmpeg -nostdin -v error -f lavfi -i sine=440:d=8 -c:a flac -fflags +bitexact -flags:a +bitexact out.flac
ffmpeg -nostdin -v error -i out.h264 -f md5 -

#: openssl dgst, enc | needs openssl
for d in sha256 sha512 sha3-256 blake2b512 md5; do openssl dgst -$d < $TEXT; done
for c in aes-256-ctr aes-128-cbc chacha20; do
    openssl enc -$c -iv 000102030405060708090a0b0c0d0e0f -in $TEXT 2>/dev/null \
        -K 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff | cksum
done
openssl prime -hex 1FFFFFFFFFFFFFFF

#: openssl speed | needs openssl
openssl speed -seconds 1 -bytes 1024 sha256 > /dev/null 2>&1
echo $?
openssl speed -seconds 1 rsa2048 ecdsap256 > /dev/null 2>&1
echo $?
openssl speed -seconds 1 -evp aes-128-gcm -multi 2 > /dev/null 2>&1
echo $?

#: curl | needs curl
curl -s file://$TEXT -o out
curl -s file:///nonexistent || echo $?
curl -s 'file://'$SMALL | cksum

#: gm | threaded | needs gm | OMP_NUM_THREADS=2
gm convert -size 400x300 gradient:navy-gold -swirl 720 -blur 0x6 \
    -modulate 110,150,80 -resize 150% -sharpen 0x3 out.ppm

#: OpenMP: stencil | threaded | OMP_NUM_THREADS=2
$STENCIL 512 300

#: MPI: ring | threaded | needs mpirun mpicc | HOME=/tmp
mpirun --allow-run-as-root --oversubscribe -n 2 $BUILT/ring

#: Rust: carom-rayon | threaded | RAYON_NUM_THREADS=2
$RAYON --numbers 400000 --rounds 5 | sed 's/"seconds.*//'
