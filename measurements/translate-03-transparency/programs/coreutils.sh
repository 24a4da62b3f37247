#: sort | threaded
LC_ALL=C sort --parallel=2 -S 64M -o sorted $NUMBERS
LC_ALL=C sort -u -k2n --parallel=2 $NUMBERS

#: checksums
for sum in md5sum sha1sum sha224sum sha256sum sha512sum b2sum cksum sum; do $sum < $TEXT; done

#: wc
wc < $TEXT
wc -L < $TEXT

#: tr, cut, uniq
tr a-z A-Z < $TEXT | cut -d' ' -f2-5 | uniq -c | cut -c1-60 | tr -s ' ' > out

#: tac, rev, nl, paste
tac $TEXT | rev | nl | paste - - > out
fold -w 30 $SMALL | expand | fmt -w 50 > fmt

#: join, comm, split
sort $NUMBERS > a
sort -r $NUMBERS | sort > b
comm -12 a b | wc
join a b > j
split -n 7 j part

#: od, base64
od -t x8z $SMALL | md5sum
base64 $TEXT | base64 -d > out

#: seq, factor
seq 1000000000000000000 3 1000000000000003000 | factor
seq 1 2000000 | tail -n 3

#: shuf
shuf --random-source=$TEXT $NUMBERS > out

#: dd
dd if=$TEXT of=out bs=777 status=none
dd if=out bs=1M conv=ucase status=none | cksum

#: awk | needs mawk
mawk '{for(i=1;i<=NF;i++)n[$i]++} END{for(w in n) print n[w], w}' $TEXT | sort -k1nr -k2 | head -50

#: gawk | needs gawk
gawk '{n[length($0)]++; $3=toupper($3); print}
    END{PROCINFO["sorted_in"]="@ind_num_asc"; for(l in n) print l, n[l]}' $SMALL > out

#: sed
sed -E 's/([a-z]+) ([a-z]+)/\2 \1/g; /^e/d; y/abc/xyz/' $TEXT > out

#: grep
grep -c e $TEXT
grep -E -o '\b[a-z]*(tion|ee)[a-z]*' $TEXT | sort | uniq -c
grep -P -c '(?<=t)h.*e$' $SMALL || :

#: tar
mkdir in
for i in 1 2 3 4 5; do cp $SMALL in/$i; done
tar --mtime=@0 --sort=name -cf a.tar in
mkdir out
tar -xf a.tar -C out
rm -r in
gzip -n a.tar

#: find, xargs | threaded
find /usr/share/doc -name 'c*' -type f | sort | xargs -P2 -n200 md5sum | sort | cksum
find /usr/include -name '*.h' -size +8k | sort

#: diff, patch | needs patch
head -20000 $TEXT > a
sed '3~7d;5~11s/e/E/g' a > b
diff -u --label a --label b a b > p || :
patch -s a p
cmp a b
diff3 a b a

#: rsync | needs rsync
mkdir a
cp $SMALL $NUMBERS a
rsync -rt --checksum a/ b
sed -i 5000,6000d b/*
rsync -rt --checksum --no-whole-file a/ b
ls b

#: bc, dc | needs bc dc
echo 'scale=700; 4*a(1); e(1)' | bc -l
echo '3 2 20000 ^ * 7 | p' | sed 's/|/+/' | dc
dc -e '1 1 [pdk]sx 500 [d2-] sy 2 3000 ^ p'
