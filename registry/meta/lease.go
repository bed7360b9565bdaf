package meta

import (
	"context"
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

// Leases lists who has leases whose names begin with a prefix, by name.
func (tx *Tx) Leases(ctx context.Context, prefix string) ([]string, error) {
	return tx.leases(ctx, prefix, "")
}

// leases is Leases of those that a further condition holds for, which begins with " AND".
func (tx *Tx) leases(ctx context.Context, prefix, condition string) ([]string, error) {
	return list(ctx, tx, column[string], `SELECT holder FROM leases WHERE name >= $1 AND name < $2 AND until >= `+tx.d.Now()+condition+` ORDER BY name`, prefix, prefix+"\U0010FFFF")
}

// ForgetLeases removes leases whose names begin with a prefix and that ended so long ago.
func (tx *Tx) ForgetLeases(ctx context.Context, prefix string, ago time.Duration) error {
	_, err := tx.exec(ctx, `DELETE FROM leases WHERE name >= $1 AND name < $2 AND until < `+tx.d.Now()+` - $3`, prefix, prefix+"\U0010FFFF", ago.Microseconds())
	return err
}
