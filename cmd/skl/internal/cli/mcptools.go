package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/mcp"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/index/serve"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/spell"
)

// offerCode gives agents the tools to search the directories of --path. end must be called when the server has ended.
// Without the group of these tools nothing is opened.
func (w *world) offerCode(ctx context.Context, c *cli.Context, o *mcp.Options) (end func(), err error) {
	if err := mcp.CheckGroups(o.Tools); err != nil {
		return nil, err
	}
	end = func() {}
	if len(o.Tools) > 0 && !slices.Contains(o.Tools, mcp.Code) {
		return end, nil
	}
	dirs := c.StringSlice("path")
	if len(dirs) == 0 {
		dirs = []string{w.searchedDir("")}
	}
	tools := &serve.Tools{Open: w.keepIndex}
	for _, dir := range dirs {
		dir = scope.Absolute(w.Cwd, dir)
		info, err := os.Stat(dir)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			return nil, diag.New(diag.Misuse, "not_a_directory", "--path: %s is no directory", w.Short(dir))
		}
		if err != nil {
			return nil, err
		}
		tools.Roots = append(tools.Roots, dir)
	}
	if url := c.String("service"); url != "" {
		if err := w.checkServiceURL(url); err != nil {
			return nil, err
		}
		client := &serve.Client{URL: url, Key: w.Getenv(serviceKey), Local: w.keepIndex, CacheDir: filepath.Join(w.indexDir(), "overlay")}
		tools.Open = client.Open
	}
	// Without it, searches are answered all the same.
	if f, err := serve.OpenFeedback(ctx, w.feedbackDir()); err == nil {
		tools.Feedback = f
		end = func() { f.Close() }
	}
	o.Code = tools
	return end, nil
}

// readSkill returns a file of the active copy of an installed skill.
func (w *world) readSkill(ctx context.Context, name, file string) (mcp.SkillFile, error) {
	if !ref.IsWord(name) {
		return mcp.SkillFile{}, diag.New(diag.Refused, "mcp_path", "%q is a path or a reference; agents read installed skills by name", name).Hint("skl list")
	}
	t, info, err := w.lookAt(ctx, name)
	if err != nil {
		return mcp.SkillFile{}, err
	}
	if !slices.ContainsFunc(info.Copies, func(r roots.Record) bool { return r.State == roots.Active }) {
		r := info.Copies[0]
		if r.State == "untrusted" {
			return mcp.SkillFile{}, diag.New(diag.Refused, "untrusted", "%s lies in a project that is not trusted", r.Name).Hint("skl trust allow")
		}
		return mcp.SkillFile{}, diag.New(diag.Refused, "not_active", "%s is %s", r.Name, r.State).Hint("skl list --all")
	}
	if file == "" {
		file = skill.FileName
	}
	out := mcp.SkillFile{Skill: info.Name, File: file}
	for path := range t {
		out.Files = append(out.Files, path)
	}
	slices.Sort(out.Files)
	f, ok := t[file]
	if !ok || f.Kind == bundle.Link {
		return mcp.SkillFile{}, diag.New(diag.Misuse, "no_such_file", "%s has no file %q", info.Name, file).Meant(spell.Nearest(file, out.Files, 5)...)
	}
	out.Data = f.Data
	return out, nil
}
