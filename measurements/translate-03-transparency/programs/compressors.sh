#: gzip
gzip -n -c $TEXT > out.gz
gzip -dc out.gz > out
gzip -t out.gz

#: xz | threaded | needs xz
xz -T2 -2 --block-size=1MiB -k -c $TEXT > out.xz
xz -T2 -dc out.xz > out

#: zstd | threaded | needs zstd
zstd -q -T2 -9 $TEXT -o out.zst
zstd -q -dc out.zst > out
zstd -q -T2 --ultra -20 $SMALL -o 2.zst

#: bzip2 | needs bzip2
bzip2 -c $TEXT > out.bz2
bzip2 -dc out.bz2 > out

#: lbzip2 | threaded | needs lbzip2
lbzip2 -n2 -k -c $TEXT > out.bz2
lbzip2 -n2 -dc out.bz2 > out

#: pigz | threaded | needs pigz
pigz -p2 -n -c $TEXT > out.gz
pigz -p2 -dc out.gz > out

#: zip | needs zip unzip
cp $SMALL a
touch -d @0 a
zip -X -q a.zip a
unzip -p a.zip > b
