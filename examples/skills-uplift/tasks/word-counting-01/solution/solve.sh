#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
elder 14
daisy 12
hazel 10
ivy 9
cedar 8
grape 8
amber 6
birch 6
fern 6
juniper 4
kale 4
lilac 1
maple 1
nettle 1
ANSWER
