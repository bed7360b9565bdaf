package hosts

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
)

// TestFolderTrust reads the files of agents; paths start with H, the home directory, and P, the project below it.
func TestFolderTrust(t *testing.T) {
	type files = map[string]string
	for _, tt := range []struct {
		name, host, cwd string
		env             map[string]string
		files           files
		want            Trust
	}{
		{"nothing", "gemini-cli", "", nil, nil, TrustUnasked},
		{"the folder", "gemini-cli", "", nil, files{"/home/u/.gemini/trustedFolders.json": `{"/home/u/p": "TRUST_FOLDER"}`}, TrustGiven},
		{"a folder above", "gemini-cli", "/home/u/p/sub", nil, files{"/home/u/.gemini/trustedFolders.json": `{"/home/u": "TRUST_FOLDER"}`}, TrustGiven},
		{"the folder's parent", "gemini-cli", "", nil, files{"/home/u/.gemini/trustedFolders.json": `{"/home/u/other": "TRUST_PARENT"}`}, TrustGiven},
		{"the longest rule", "gemini-cli", "", nil, files{"/home/u/.gemini/trustedFolders.json": `{"/home/u": "TRUST_FOLDER", "/home/u/p": "DO_NOT_TRUST"}`}, TrustDenied},
		{"another folder", "gemini-cli", "", nil, files{"/home/u/.gemini/trustedFolders.json": `{"/home/u/p2": "TRUST_FOLDER"}`}, TrustUnasked},
		{"an unknown rule", "gemini-cli", "", nil, files{"/home/u/.gemini/trustedFolders.json": `{"/home/u/p": "LATER"}`}, TrustUnasked},
		{"a damaged file", "gemini-cli", "", nil, files{"/home/u/.gemini/trustedFolders.json": `{`}, TrustUnknown},
		{"turned off, with comments", "gemini-cli", "", nil, files{"/home/u/.gemini/settings.json": "{ // mine\n\"security\": {\"folderTrust\": {/* no */ \"enabled\": false}}, \"url\": \"http://x\"}"}, TrustGiven},
		{"the system's settings come first", "gemini-cli", "", map[string]string{"GEMINI_CLI_SYSTEM_SETTINGS_PATH": "/etc/g.json"},
			files{"/etc/g.json": `{"security":{"folderTrust":{"enabled":true}}}`, "/home/u/.gemini/settings.json": `{"security":{"folderTrust":{"enabled":false}}}`}, TrustUnasked},
		{"damaged settings", "gemini-cli", "", nil, files{"/home/u/.gemini/settings.json": "{"}, TrustUnknown},
		{"a variable", "gemini-cli", "", map[string]string{"GEMINI_CLI_TRUST_WORKSPACE": "true"}, nil, TrustGiven},
		{"a variable against", "gemini-cli", "", map[string]string{"GEMINI_CLI_TRUST_WORKSPACE": "false"}, files{"/home/u/.gemini/trustedFolders.json": `{"/home/u/p": "TRUST_FOLDER"}`}, TrustDenied},
		{"a moved file", "gemini-cli", "", map[string]string{"GEMINI_CLI_TRUSTED_FOLDERS_PATH": "/t.json"}, files{"/t.json": `{"/home/u/p": "TRUST_FOLDER"}`}, TrustGiven},

		{"nothing", "claude-code", "", nil, nil, TrustUnasked},
		{"accepted", "claude-code", "", nil, files{"/home/u/.claude.json": `{"projects": {"/home/u/p": {"hasTrustDialogAccepted": true}}}`}, TrustGiven},
		{"accepted above", "claude-code", "/home/u/p/sub", nil, files{"/home/u/.claude.json": `{"projects": {"/home/u/p": {"hasTrustDialogAccepted": true}}}`}, TrustGiven},
		{"not accepted", "claude-code", "", nil, files{"/home/u/.claude.json": `{"projects": {"/home/u/p": {"hasTrustDialogAccepted": false}}}`}, TrustDenied},
		{"a moved directory", "claude-code", "", map[string]string{"CLAUDE_CONFIG_DIR": "/c"}, files{"/c/.claude.json": `{"projects": {"/home/u/p": {"hasTrustDialogAccepted": true}}}`}, TrustGiven},
		{"damaged", "claude-code", "", nil, files{"/home/u/.claude.json": `[`}, TrustUnknown},

		{"nothing", "codex", "", nil, nil, TrustUnasked},
		{"trusted", "codex", "/home/u/p/sub", nil, files{"/home/u/.codex/config.toml": "[projects.\"/home/u/p\"]\ntrust_level = \"trusted\"\n"}, TrustGiven},
		{"untrusted", "codex", "", nil, files{"/home/u/.codex/config.toml": "[projects.\"/home/u/p\"]\ntrust_level = \"untrusted\"\n"}, TrustDenied},
		{"damaged", "codex", "", nil, files{"/home/u/.codex/config.toml": "["}, TrustUnknown},
		{"keeps none", "cursor", "", nil, nil, TrustNone},
	} {
		h, _ := Find(tt.host)
		env := machine(tt.env)
		if tt.cwd != "" {
			env.Cwd = filepath.FromSlash(tt.cwd)
		}
		env.ReadFile = func(path string) ([]byte, error) {
			if text, ok := tt.files[filepath.ToSlash(path)]; ok {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		}
		if got := h.FolderTrust(env); got != tt.want {
			t.Errorf("%s, %s: %q, want %q", tt.host, tt.name, got, tt.want)
		}
	}
	h, _ := Find("codex")
	env := machine(nil)
	env.ReadFile = func(string) ([]byte, error) { return nil, errors.New("no") }
	if got := h.FolderTrust(env); got != TrustUnknown {
		t.Errorf("a file that cannot be read: %q", got)
	}
}

// The result has the length of its input, and is valid wherever comments were the only fault.
func FuzzWithoutComments(f *testing.F) {
	f.Add("{\"a\": \"//\", /* x */ \"b\": 1} // y")
	f.Add("/*")
	f.Add("\"\\")
	f.Fuzz(func(t *testing.T, s string) {
		out := withoutComments([]byte(s))
		if len(out) != len(s) {
			t.Fatalf("%q became %q", s, out)
		}
		if json.Valid([]byte(s)) && string(out) != s {
			t.Fatalf("%q, which has no comment, became %q", s, out)
		}
	})
}
