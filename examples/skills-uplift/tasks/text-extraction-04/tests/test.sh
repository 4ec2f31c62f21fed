#!/bin/bash
# 1 if the answer is the expected one, up to white space at the ends of lines.
mkdir -p /logs/verifier
if [ -f /app/answer.txt ] && sed 's/[[:space:]]*$//' /app/answer.txt | cmp -s - /tests/expected.txt
then echo 1; else echo 0; fi > /logs/verifier/reward.txt
