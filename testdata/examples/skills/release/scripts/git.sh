# === LOG ===
cat commits.txt 2>/dev/null || git log --oneline 2>/dev/null || echo 'no commits'
