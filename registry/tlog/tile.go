package tlog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/skl-project/skl/spec/diag"
)

// ErrNoTile is the error for a path that names no tile, or one that the log does not fill yet.
var ErrNoTile = errors.New("no such tile")

// entries is the level of tiles that hold records.
const entries = -1

// parseTile parses "tile/<level>/<number>[.p/<width>]" or "tile/entries/…", as tlog-tiles
// writes them. What it accepts, tilePath gives back.
func parseTile(path string) (tlog.Tile, error) {
	rest, ok := strings.CutPrefix(path, "tile/")
	level, number, ok2 := strings.Cut(rest, "/")
	if !ok || !ok2 || len(path) > 100 || level == "data" {
		return tlog.Tile{}, ErrNoTile
	}
	if level == "entries" {
		level = "data" // as x/mod calls it
	}
	t, err := tlog.ParseTilePath(fmt.Sprintf("tile/%d/%s/%s", height, level, number))
	if err != nil || t.L > 5 || t.N >= 1<<40 || tilePath(t) != path {
		return tlog.Tile{}, ErrNoTile
	}
	return t, nil
}

func tilePath(t tlog.Tile) string {
	path := strings.Replace(t.Path(), fmt.Sprintf("tile/%d/", height), "tile/", 1)
	return strings.Replace(path, "tile/data/", "tile/entries/", 1)
}

// Tile returns the tile or bundle of entries at path, "tile/0/x001/067.p/3": up to 256 hashes of 32
// bytes, or up to 256 records, each after its length in two bytes. What it returns for a path
// never changes. Its error is ErrNoTile, or one of r.
func Tile(ctx context.Context, r Reader, path string) ([]byte, error) {
	t, err := parseTile(path)
	if err != nil {
		return nil, err
	}
	size, err := r.Size(ctx)
	if err != nil {
		return nil, err
	}
	if t.N<<height+int64(t.W) > size>>(height*max(0, t.L)) {
		return nil, ErrNoTile
	}
	if t.L != entries {
		return tlog.ReadTileData(t, hashes(ctx, r))
	}
	records, err := r.Records(ctx, t.N<<height, int64(t.W))
	if err != nil {
		return nil, err
	}
	if len(records) != t.W {
		return nil, fmt.Errorf("log storage returned %d records of %d", len(records), t.W)
	}
	var bundle []byte
	for _, record := range records {
		if len(record) > MaxRecord {
			return nil, fmt.Errorf("log storage returned a record of %d bytes", len(record))
		}
		bundle = append(binary.BigEndian.AppendUint16(bundle, uint16(len(record))), record...)
	}
	return bundle, nil
}

// parseEntries takes a bundle of n records apart.
func parseEntries(bundle []byte, n int) ([][]byte, error) {
	var records [][]byte
	for len(bundle) > 0 && len(records) < n {
		if len(bundle) < 2 {
			return nil, errors.New("a record is cut")
		}
		size := int(binary.BigEndian.Uint16(bundle))
		if bundle = bundle[2:]; len(bundle) < size {
			return nil, errors.New("a record is cut")
		}
		records = append(records, bundle[:size:size])
		bundle = bundle[size:]
	}
	if len(records) != n || len(bundle) > 0 {
		return nil, fmt.Errorf("it does not hold %d records", n)
	}
	return records, nil
}

// A Fetch reads one file of a log: "checkpoint", or a tile by its path. The caller has bound it to a registry;
// it limits how much it reads.
type Fetch func(ctx context.Context, path string) ([]byte, error)

// tiles reads hashes from a registry. What it reads is checked by who asked for it.
type tiles struct {
	fetch func(path string) ([]byte, error) // a Fetch with its context: the interface has none
	err   error                             // of fetch, to tell a network that fails from a log that lies
}

func (t *tiles) Height() int                     { return height }
func (t *tiles) SaveTiles([]tlog.Tile, [][]byte) {}

func (t *tiles) ReadTiles(list []tlog.Tile) ([][]byte, error) {
	out := make([][]byte, len(list))
	for i, tile := range list {
		data, err := t.fetch(tilePath(tile))
		if err != nil {
			t.err = err
			return nil, err
		}
		if len(data) != tile.W*tlog.HashSize {
			return nil, fmt.Errorf("%s has %d bytes instead of %d", tilePath(tile), len(data), tile.W*tlog.HashSize)
		}
		out[i] = data
	}
	return out, nil
}

// authentic runs read with a reader of hashes that are proven to be in the tree of c.
func authentic(ctx context.Context, fetch Fetch, c Checkpoint, read func(tlog.HashReader) error) error {
	source := &tiles{fetch: func(path string) ([]byte, error) { return fetch(ctx, path) }}
	err := read(tlog.TileHashReader(tlog.Tree{N: c.Size, Hash: c.Root}, source))
	if source.err != nil {
		return source.err
	}
	if err != nil {
		return diag.New(diag.Refused, "log_proof", "the tiles of the log %s do not belong to its checkpoint: %w", c.Origin, err)
	}
	return nil
}
