#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
name=null
site[0]=true
site[1][0][0]=false
site[1][0][1]=null
site[1][0][2]=false
site[1][1][0]=null
state=50
ANSWER
