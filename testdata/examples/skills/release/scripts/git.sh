# === LOG ===
cat commits.txt
