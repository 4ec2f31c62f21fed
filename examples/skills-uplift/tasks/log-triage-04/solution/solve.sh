#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
billing 8
search 5
auth 4
cart 4
mail 2
store 1
ANSWER
