package meta

import "context"

// MigrateSteps is Migrate with other migrations.
func MigrateSteps(ctx context.Context, q Querier, d Dialect, steps ...string) error {
	return migrate(ctx, q, d, steps)
}

var VersionKey = versionKey
