package sqlite

import (
	"fmt"
	"math/rand"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestExp(t *testing.T) {
	mode := os.Getenv("MODE")
	if mode == "" { t.Skip() }
	dir := t.TempDir()
	db, err := connect(filepath.Join(dir, "x.db"), false)
	if err != nil { t.Fatal(err) }
	db.SetMaxOpenConns(1)
	ex := func(q string, a ...any) { if _, err := db.Exec(q, a...); err != nil { t.Fatal(q, err) } }
	ex("PRAGMA cache_size=-8192")
	ex(`CREATE VIRTUAL TABLE search USING fts5(name, keywords, description, body, content='', contentless_delete=1, `+mode+`)`)
	r := rand.New(rand.NewSource(1))
	vocab := make([]string, 20000)
	for i := range vocab {
		n := 3 + r.Intn(6)
		b := make([]byte, n)
		for j := range b { b[j] = "etaoinshrdlucmfwypvbgkqjxz"[min(r.Intn(26), r.Intn(26))] }
		vocab[i] = string(b)
	}
	z := rand.NewZipf(r, 1.1, 10, 19999)
	words := func(n int) string { var s []string; for range n { s = append(s, vocab[z.Uint64()]) }; if r.Float64() < 0.3 { s = append(s, "common") }; return strings.Join(s, " ") }
	words2 := func(n int) string { s := words(n); if r.Float64() < 0.3 { s += " usual" }; return s }
	t0 := time.Now()
	ex("BEGIN")
	st, _ := db.Prepare(`INSERT INTO search(rowid,name,keywords,description,body) VALUES($1,$2,$3,$4,$5)`)
	for i := range 100000 {
		ns := uint64(i/20)
		id := ns<<41 | uint64(r.Intn(6))<<25 | uint64(r.Intn(2))<<24 | uint64(i%20)
		if os.Getenv("PLAIN") != "" { id = uint64(i+1) }
		if _, err := st.Exec(int64(id), words(2), words(3), words(20), words2(150)); err != nil { t.Fatal(err) }
		if i%2000 == 1999 { ex("COMMIT"); ex("BEGIN") }
	}
	ex("COMMIT")
	fi, _ := os.Stat(filepath.Join(dir, "x.db"))
	fmt.Println(mode, "built", time.Since(t0), fi.Size()>>20, "MB")
	q := func(label, sqlq string, args ...any) {
		best := time.Hour
		var n any
		for range 5 {
			t0 := time.Now()
			rows, err := db.Query(sqlq, args...)
			if err != nil { t.Fatal(err) }
			k := 0
			for rows.Next() { var v sql.RawBytes; if err := rows.Scan(&v); err != nil { t.Fatal(err) }; k++; n = fmt.Sprint(k, " ", len(v)) }
			rows.Close()
			best = min(best, time.Since(t0))
		}
		fmt.Println("  ", label, best, n)
	}
	for _, m := range []string{`"common" *`, `"usual" *`, `"common" * "usual" *`, `"et" *`, `"eta" *`, `"tat" *`, `"comm" *`, `name : "common" *`, `{name keywords description} : "common" *`} {
		q(m+" count", `SELECT count(*) FROM search WHERE search MATCH $1`, m)
		q(m+" concat", `SELECT group_concat(rowid) FROM search WHERE search MATCH $1`, m)
		q(m+" rows", `SELECT rowid FROM search WHERE search MATCH $1`, m)
		if os.Getenv("RANK") != "" {
		q(m+" rank limit1000 unsorted", `SELECT bm25(search,10,5,3,1) FROM search WHERE search MATCH $1 LIMIT 1000`, m)
		q(m+" rank sorted", `SELECT rowid FROM search WHERE search MATCH $1 ORDER BY bm25(search,10,5,3,1) LIMIT 20`, m)
		}
	}
}
