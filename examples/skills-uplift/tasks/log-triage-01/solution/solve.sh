#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
mail 7
cart 4
billing 1
search 1
store 1
ANSWER
