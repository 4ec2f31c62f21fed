#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
cart 5
billing 3
mail 3
auth 2
search 2
store 2
ANSWER
