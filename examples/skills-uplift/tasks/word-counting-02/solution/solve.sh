#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
birch 15
elder 13
amber 11
grape 11
hazel 9
cedar 8
daisy 8
juniper 7
fern 4
ivy 1
kale 1
lilac 1
nettle 1
ANSWER
