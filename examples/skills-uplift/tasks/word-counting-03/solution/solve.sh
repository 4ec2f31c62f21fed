#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
amber 13
elder 12
fern 9
daisy 8
grape 8
cedar 7
birch 6
hazel 6
kale 6
ivy 5
lilac 5
juniper 3
maple 1
nettle 1
ANSWER
