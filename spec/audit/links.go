package audit

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/skill"
)

// A Link says how a [File] that is the name of a link is read.
type Link uint8

const (
	NoLink     Link = iota // it is no link
	LinkRead               // as its name says
	LinkSame               // not, since the file that it leads to is read the same way by another name
	LinkUnread             // not, since that file has too many names which have it read in other ways
)

// Limits of links.
const (
	maxFollowed = 40 // links on the way of one, as systems have it
	maxManners  = 4  // ways in which links have one file read
)

// Folders that have a file in them read otherwise: agents read configuration there, or git starts what is there.
var (
	agentFolders = []string{"agents", "hooks", ".codex"}
	folders      = append(slices.Clip(agentFolders), ".husky")
)

// Linked is files, and under the name of each link, which links has with what it leads to, the file at its end: what runs a file goes by the
// name that it is called by. A link to a folder that agents know names the files in it. Links that lead to no file of the release are left out.
func Linked(files []File, links map[string]string) []File {
	if len(links) == 0 {
		return files
	}
	l := linker{links: links, at: map[string]int{}, in: map[string][]int{}, manners: map[int][]string{}, files: slices.Clip(files)}
	for i, f := range files {
		l.at[f.Path] = i
		dir := path.Dir(f.Path)
		l.in[dir] = append(l.in[dir], i)
	}
	named := map[[2]string]bool{}
	for _, name := range slices.Sorted(maps.Keys(links)) {
		end, ok := l.resolve(name)
		if !ok {
			continue
		}
		if i, ok := l.at[end]; ok {
			l.add(name, i)
			continue
		}
		folder := [2]string{strings.ToLower(path.Base(name)), end}
		if !slices.Contains(folders, folder[0]) || named[folder] {
			continue
		}
		named[folder] = true
		for _, i := range l.in[end] {
			l.add(path.Join(name, path.Base(files[i].Path)), i)
		}
	}
	return l.files
}

// A linker names files by links.
type linker struct {
	links   map[string]string
	at      map[string]int   // of files, by path
	in      map[string][]int // of files, by folder
	manners map[int][]string // in which a file is read
	files   []File
}

// resolve is the path that a link leads to in the end, without links in it; ok is false if it leads out of the release, or in circles.
func (l *linker) resolve(name string) (end string, ok bool) {
	followed, done, rest := 0, ".", strings.Split(name, "/")
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		switch {
		case part == "" || part == ".":
			continue
		case part == ".." && done == ".":
			return "", false
		case part == "..":
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, part)
		target, linked := l.links[next]
		if !linked {
			done = next
			continue
		}
		if followed++; followed > maxFollowed || path.IsAbs(target) {
			return "", false
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return done, true
}

// add names file i by a link.
func (l *linker) add(name string, i int) {
	f := l.files[i]
	if l.manners[i] == nil {
		l.manners[i] = []string{manner(f)}
	}
	f.Of, f.Path = f.Path, name
	switch how := manner(f); {
	case slices.Contains(l.manners[i], how):
		f.Link = LinkSame
	case len(l.manners[i]) > maxManners:
		f.Link = LinkUnread
	default:
		f.Link = LinkRead
		l.manners[i] = append(l.manners[i], how)
	}
	l.files = append(l.files, f)
}

// manner is what the name of a file says of how it is read.
func manner(f File) string {
	l, known := language(f)
	config, ofAgents := isConfig(f.Path)
	ext := ""
	if config {
		ext = strings.ToLower(path.Ext(f.Path))
	}
	base := strings.ToLower(path.Base(f.Path))
	manager, _ := manifestOf(f.Path)
	return fmt.Sprint(l, known, config, ofAgents, ext, keysOf(f.Path), manager, f.Path == skill.FileName, isScript(f.Path), config && strings.HasPrefix(base, "hooks"))
}

// itself is the path of the file whose bytes f has.
func (f File) itself() string {
	if f.Of != "" {
		return path.Clean(f.Of)
	}
	return path.Clean(f.Path)
}
