package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/skl-project/skl/index"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/serve"
)

func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	repo := filepath.Join(dir, "repo")
	if err := os.MkdirAll(filepath.Join(repo, ".git"), 0o755); err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(repo, "pool.go"), []byte("package pool\n\nfunc Acquire() int { return 1 }\n"), 0o644); err != nil {
		panic(err)
	}

	service, err := serve.NewService(context.Background(), serve.ServiceOptions{
		StateDir: filepath.Join(dir, "state"),
		Open: func(ctx context.Context, root string, o serve.Opening) (serve.Index, error) {
			x, err := index.Open(ctx, root, index.Options{CacheDir: filepath.Join(dir, "cache"), Progress: o.Progress, Prior: o.Prior})
			if err != nil {
				return nil, err // not x, which would be an Index that is not nil
			}
			return x, nil
		},
	})
	if err != nil {
		panic(err)
	}
	defer service.Close()
	web := httptest.NewServer(service.Handler())
	defer web.Close()

	post := func(path, body string, answer any) {
		response, err := web.Client().Post(web.URL+path, "application/json", strings.NewReader(body))
		if err != nil {
			panic(err)
		}
		defer response.Body.Close()
		if err := json.NewDecoder(response.Body).Decode(answer); err != nil {
			panic(err)
		}
	}
	var added serve.Added
	path, _ := json.Marshal(serve.AddRequest{Path: repo})
	post("/repos/add", string(path), &added)
	var found query.Result
	post("/query", `{"repo":"`+added.RepoID+`","symbol":"Acquire"}`, &found)
	for _, h := range found.Handles {
		fmt.Println(h.ID, h.FilePath, h.NodeType, h.LineRange)
	}
	// Output: h72ed913b554271e277aa6f74 pool.go function [3 3]
}
