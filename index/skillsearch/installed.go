package skillsearch

import (
	"cmp"
	"context"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

const (
	maxFront = 64 << 10 // bytes of a frontmatter, as in roots
	readers  = 8        // skills that are read at once
)

// Installed returns the skills that cfg finds, in the order of roots: the copy of each name that is used, and those
// that would be used if the project were trusted. It looks at the skill's directory and the directories in it for
// names of files. A SKILL.md that cannot be read any more leaves what roots knew. Its only error is that of ctx.
func Installed(ctx context.Context, cfg roots.Config) ([]Skill, error) {
	l, err := roots.Discover(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return FromListing(ctx, cfg.System, l)
}

// FromListing is Installed for those who have searched already. system holds the embedded skills; it may be nil.
func FromListing(ctx context.Context, system fs.FS, l roots.Listing) ([]Skill, error) {
	records := slices.DeleteFunc(slices.Clone(l.Skills), func(r roots.Record) bool { return r.State != roots.Active && r.State != roots.Untrusted })
	skills := make([]Skill, len(records))
	var g errgroup.Group
	g.SetLimit(readers)
	for i := range records {
		if ctx.Err() != nil {
			break
		}
		g.Go(func() error {
			skills[i] = fromRecord(system, &records[i])
			return nil
		})
	}
	g.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return skills, nil
}

func fromRecord(system fs.FS, r *roots.Record) Skill {
	var k Skill
	if name, ok := strings.CutPrefix(r.Path, "skl:"); ok && system != nil {
		k = readDir(system, name)
	} else if !ok {
		escapes := slices.ContainsFunc(r.Warnings, func(w roots.Warning) bool { return w.Code == "W_SYMLINK_ESCAPE" })
		if root, err := os.OpenRoot(r.Path); err == nil && !escapes { // no link in a skill leads to other files
			k = readDir(durable.RootFS(root), ".")
			root.Close()
		}
		k.Path = r.Path
	}
	k.Name, k.Ref = r.Name, r.Name
	k.Description = cmp.Or(r.Description, k.Description)
	k.Version = cmp.Or(r.Version, k.Version)
	k.Digest, k.Installed = r.Digest, true
	k.Source = r.Scope
	if r.Source != "" {
		k.Source += ", " + r.Source
	}
	k.Trust = r.Trust
	if r.State == roots.Untrusted {
		k.Trust = roots.Untrusted
	}
	k.Verified = r.Signature != nil && r.Signature.State == "verified"
	return k
}

// readDir reads a skill's directory. What cannot be read is left out.
func readDir(fsys fs.FS, dir string) Skill {
	var k Skill
	if src, size := readHead(fsys, path.Join(dir, skill.FileName)); src != nil {
		if d, err := skill.ReadWith(src, skill.SidecarIn(fsys, dir)); err == nil {
			k = fromDocument(d, src, size)
		}
	}
	entries, _ := fs.ReadDir(fsys, dir)
	for _, e := range entries {
		if len(k.Files) >= MaxNames {
			break
		}
		if !e.IsDir() {
			k.Files = append(k.Files, e.Name())
			continue
		}
		inside, _ := fs.ReadDir(fsys, path.Join(dir, e.Name()))
		for _, f := range inside[:min(len(inside), MaxNames-len(k.Files))] {
			k.Files = append(k.Files, e.Name()+"/"+f.Name())
		}
	}
	return k
}

// readHead reads as much of a regular file as a Skill holds, and says how long the file is.
func readHead(fsys fs.FS, name string) (src []byte, size int64) {
	info, err := fs.Stat(fsys, name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, 0 // to open a pipe would wait for somebody to write to it
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, 0
	}
	defer f.Close()
	src = make([]byte, min(info.Size(), maxFront+MaxBody))
	n, _ := io.ReadFull(f, src)
	return src[:n], info.Size()
}

// fromDocument makes a Skill of what a SKILL.md of size bytes says, of which src is the start.
func fromDocument(d *skill.Document, src []byte, size int64) Skill {
	k := Skill{Name: d.Name, Description: d.Description, Version: d.Version, Tools: d.Preapproved(), Tokens: int((size + 3) / 4)}
	if tags, ok := d.Meta("tags"); ok {
		k.Tags = splitTags(tags)
	}
	body := src[min(d.Body, len(src)):]
	k.Body = body[:min(len(body), MaxBody)]
	return k
}

// splitTags reads the tags of a metadata value, which is a list as JSON or words between commas.
func splitTags(s string) []string {
	all := strings.FieldsFunc(diag.Head(s, MaxDescription), func(r rune) bool { return strings.ContainsRune(`[]{}",;`, r) })
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return slices.DeleteFunc(all, func(t string) bool { return t == "" })
}
