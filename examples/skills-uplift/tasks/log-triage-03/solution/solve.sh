#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
auth 3
cart 3
mail 3
search 2
store 2
billing 1
ANSWER
