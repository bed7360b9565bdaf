package meta

import (
	"context"
	"strings"
	"time"
)

// ReplicaLease begins the names of the leases of those that serve. Their holders are names, a space, and a text that no other has.
const ReplicaLease = "replica "

// Now is the time of the database, which all processes share.
func (tx *Tx) Now(ctx context.Context) (time.Time, error) {
	return one(ctx, tx, func(r row) (t time.Time, err error) {
		err = r.Scan(stamp{&t})
		return t, err
	}, `SELECT `+tx.d.Now())
}

// TakeLease gives holder a lease for a time from now, or makes the one that it has longer. Its epoch grows with every other holder.
// ErrExists if somebody else has it.
func (tx *Tx) TakeLease(ctx context.Context, name, holder string, lasts time.Duration) (epoch int64, err error) {
	now := tx.d.Now()
	if err := tx.insert(ctx, `INSERT INTO leases (name, holder, epoch, until, version) VALUES ($1, $2, 1, `+now+` + $3, $4) ON CONFLICT (name) DO UPDATE
		SET holder = excluded.holder, until = excluded.until, version = excluded.version, epoch = leases.epoch + CASE WHEN leases.holder = excluded.holder THEN 0 ELSE 1 END
		WHERE leases.holder = excluded.holder OR leases.until < `+now, name, holder, lasts.Microseconds(), Version()); err != nil {
		return 0, err
	}
	return one(ctx, tx, column[int64], `SELECT epoch FROM leases WHERE name = $1`, name)
}

// DropLease gives back the lease of holder. It is no error if somebody else has it.
func (tx *Tx) DropLease(ctx context.Context, name, holder string) error {
	_, err := tx.exec(ctx, `UPDATE leases SET until = 0 WHERE name = $1 AND holder = $2`, name, holder)
	return err
}

// Serving names the processes that serve, where many can: those that said so in the last half minute.
func (tx *Tx) Serving(ctx context.Context) (names []string, err error) { return tx.serving(ctx, "") }

// serving is Serving of those that a further condition on leases holds for, which begins with " AND".
func (tx *Tx) serving(ctx context.Context, condition string) (names []string, err error) {
	holders, err := list(ctx, tx, column[string], `SELECT holder FROM leases WHERE name >= $1 AND name < $2 AND until >= `+tx.d.Now()+condition+` ORDER BY name`, ReplicaLease, ReplicaLease+"\U0010FFFF")
	for _, holder := range holders {
		names = append(names, holder[:max(0, strings.LastIndexByte(holder, ' '))]) // without the text that no other has
	}
	return names, err
}

// ForgetLeases removes leases whose names begin with a prefix and that ended so long ago.
func (tx *Tx) ForgetLeases(ctx context.Context, prefix string, ago time.Duration) error {
	_, err := tx.exec(ctx, `DELETE FROM leases WHERE name >= $1 AND name < $2 AND until < `+tx.d.Now()+` - $3`, prefix, prefix+"\U0010FFFF", ago.Microseconds())
	return err
}
