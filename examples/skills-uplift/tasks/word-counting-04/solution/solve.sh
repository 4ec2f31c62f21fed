#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
cedar 11
birch 10
elder 10
amber 9
fern 9
daisy 8
ivy 8
grape 7
hazel 6
kale 4
maple 3
juniper 2
lilac 2
nettle 1
ANSWER
