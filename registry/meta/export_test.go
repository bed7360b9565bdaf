package meta

import "context"

// MigrateSteps is Migrate with other migrations.
func MigrateSteps(ctx context.Context, q Querier, d Dialect, upgrading func(have, want int) error, steps ...string) error {
	return migrate(ctx, q, d, upgrading, steps)
}

var VersionKey = versionKey
