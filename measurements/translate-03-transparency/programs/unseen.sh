#: 7zz | threaded | needs 7zz
cp $SMALL text
touch -d @0 text
7zz a -bd -bso0 -mmt=2 -mtm=off -mx=5 a.7z text
7zz x -so a.7z

#: stockfish | threaded | needs stockfish
stockfish bench 16 1 7 2>&1 | grep -E 'bestmove|Nodes searched'

#: flac, sox | needs flac sox
sox -R -n -r 44100 -b 16 a.wav synth 12 sine 300-3300 chorus 0.7 0.9 55 0.4 0.25 2 -t
flac -s --no-padding -8 a.wav -o a.flac
flac -s -d a.flac -o b.wav

#: guile | threaded | needs guile | HOME=/tmp
guile --no-auto-compile -c '(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (display (fib 24))
    (display (catch #t (lambda () (car 1)) (lambda (k . r) k))) (display (expt 3 500))'

#: optipng, imagemagick | threaded | needs optipng /usr/bin/convert | OMP_NUM_THREADS=2
/usr/bin/convert -size 300x200 plasma:red-blue -seed 1 -strip x.ppm
/usr/bin/convert -size 200x200 gradient:red-blue -strip -swirl 200 -define png:exclude-chunks=date,time a.png
optipng -quiet -o2 a.png
rm x.ppm
/usr/bin/convert a.png ppm:- | cksum

#: samtools | threaded | needs samtools
printf '@HD\tVN:1.6\n@SQ\tSN:c\tLN:100000\n' > a.sam
seq 1 20000 | mawk '{
    printf "r%d\t0\tc\t%d\t60\t8M\t*\t0\t0\tACGTACGT\tIIIIIIII\n", $1, ($1 * 7919) % 99000 + 1}' >> a.sam
samtools sort --no-PG -@ 2 -o a.bam a.sam
samtools depth a.bam | cksum
samtools flagstat a.bam
