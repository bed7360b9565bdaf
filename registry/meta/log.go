package meta

import "context"

import "fmt"

// LogSize is the number of records in the transparency log.
//
//go:noinline
func (tx *Tx) LogSize(ctx context.Context) (int64, error) {
	return one(ctx, tx, column[int64], `SELECT coalesce(max(id), -1) + 1 FROM log_records`)
}

// LastLogged is the highest index in the transparency log that a release names, -1 if none does.
func (tx *Tx) LastLogged(ctx context.Context) (int64, error) {
	return one(ctx, tx, column[int64], `SELECT coalesce(max(log_index), -1) FROM releases`)
}

// LogHashes returns stored hashes, in the numbering of golang.org/x/mod/sumdb/tlog.
// ErrNotFound if one of them is not stored.
func (tx *Tx) LogHashes(ctx context.Context, indexes []int64) ([][32]byte, error) {
	hashes := make([][32]byte, len(indexes))
	for i, index := range indexes {
		h, err := one(ctx, tx, column[[]byte], `SELECT hash FROM log_hashes WHERE id = $1`, index)
		if err != nil {
			return nil, err
		}
		if copy(hashes[i][:], h) != len(h) || len(h) != len(hashes[i]) {
			return nil, fmt.Errorf("hash %d of the log has %d bytes", index, len(h))
		}
	}
	return hashes, nil
}

// AppendLog adds the record of that index, which is the size of the log, and the hashes that follow from it,
// numbered from first. Its error is ErrExists when the log has another size.
func (tx *Tx) AppendLog(ctx context.Context, index int64, record []byte, first int64, stored [][32]byte) error {
	size, err := tx.LogSize(ctx)
	if err != nil {
		return err
	}
	if size != index {
		return fmt.Errorf("record %d of a log of %d records: %w", index, size, ErrExists)
	}
	if err := tx.insert(ctx, `INSERT INTO log_records (id, record) VALUES ($1, $2) ON CONFLICT DO NOTHING`, index, notNil(record)); err != nil {
		return err
	}
	for i, h := range stored {
		if err := tx.insert(ctx, `INSERT INTO log_hashes (id, hash) VALUES ($1, $2) ON CONFLICT DO NOTHING`, first+int64(i), h[:]); err != nil {
			return err
		}
	}
	return nil
}

// LogRecords returns the records from index from up to, but without, index to. Those beyond the
// log's end are missing.
func (tx *Tx) LogRecords(ctx context.Context, from, to int64) ([][]byte, error) {
	return list(ctx, tx, column[[]byte], `SELECT record FROM log_records WHERE id >= $1 AND id < $2 ORDER BY id`, from, to)
}
