#: gcc | needs gcc
cp $BIG_C big.c
gcc -O2 -g -c big.c
gcc -O0 -S big.c -o big.s
gcc -O2 -flto -frandom-seed=1 -c big.c -o lto.o

#: g++ | needs g++
cp $SOURCES/containers.cc .
g++ -std=c++17 -O2 -g -c containers.cc
g++ -std=c++17 -O2 containers.cc -o containers
./containers

#: make -j2 | threaded | needs make gcc
head -400 $BIG_C > one.c
cp one.c two.c
printf 'all: one.o two.o three.s\nthree.s: one.c\n\tgcc -O1 -S $< -o $@\n%%.o: %%.c\n\tgcc -O2 -c $<\n' > Makefile
make -s -j2
ar rcD all.a one.o two.o
nm all.a

#: objdump, readelf, strip | needs objdump
objdump -d $(command -v sort) | tail -n 4000
readelf -a $(command -v sort) > out
strip -o stripped $(command -v sort)

#: rustc | threaded | needs $RUSTC
cp $SOURCES/words.rs .
$RUSTC --edition 2021 -O words.rs -C codegen-units=2 --emit=metadata,obj
ls

#: git | threaded | needs git
export HOME=$PWD GIT_PAGER=cat GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'
git init -q -b main r
cd r
git config user.name n
git config user.email e@x
git config pack.threads 2
for i in 1 2 3 4 5 6; do
    head -${i}000 $TEXT | sed "s/a/$i/" > file
    git add file
    git commit -q -m "change $i"
done
git log --stat --format=%H%n%s
git blame -s file | cksum
git gc -q --aggressive
git fsck --full 2>&1
cd ..
git clone -q --no-local r c
git -C c rev-list --objects --all
git -C c diff HEAD~3 | cksum
rm -rf r c .git*

#: gdb | needs gdb mpicc
gdb -nx --batch -ex 'ptype struct team' -ex 'disassemble main' -ex 'info functions main' $BUILT/ring || echo $?
OMP_NUM_THREADS=1 gdb -nx --batch -ex 'break main' -ex run -ex bt -ex next -ex continue --args $STENCIL 64 2>&1 |
    sed -E 's/process [0-9]+/process/; s/0x7ff[0-9a-f]+/0x7ff/'

#: go (cgo) | threaded | needs go
$BUILT/workers
