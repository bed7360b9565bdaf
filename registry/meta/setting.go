package meta

import (
	"context"
	"errors"
)

// Settings that are of the place where a registry has its data, and not of the registry: they stay when it moves.
const (
	SettingDirectory = "directory" // name of the data directory that the database belongs to
	SettingBucket    = "bucket"    // name of the bucket likewise
	// SettingNextBucket is what the bucket will be called that is becoming that of the database.
	SettingNextBucket = "bucket_next"
	SettingHold       = "hold_blobs" // the time until which no blob is removed, by any process
	SettingSecret     = "secret "    // begins those with keys, where many processes share them
	settingFrozen     = "frozen"
	settingSchema     = "schema"
	// settingCompatible is the version of the oldest program that works with the database.
	settingCompatible = "compatible_from"
)

// ofPlace is a condition on settings.
const ofPlace = `(key IN ('` + SettingDirectory + `', '` + SettingBucket + `', '` + SettingNextBucket + `', '` + SettingHold + `', '` + settingFrozen + `', '` + settingSchema + `', '` + settingCompatible + `') OR key LIKE '` + SettingSecret + `%')`

// Setting returns the value of key. The keys "schema" and "compatible_from" belong to [Migrate].
//
//go:noinline
func (tx *Tx) Setting(ctx context.Context, key string) ([]byte, error) {
	return one(ctx, tx, column[[]byte], `SELECT value FROM settings WHERE key = $1`, key)
}

// PutSetting sets the value of key.
func (tx *Tx) PutSetting(ctx context.Context, key string, value []byte) error {
	_, err := tx.exec(ctx, `INSERT INTO settings (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value`, key, notNil(value))
	return err
}

// KeepSetting returns the value of key in s, and makes it with fresh if there is none: of many processes that make one, one is first, and
// all have its. If fresh is nil the error is ErrNotFound. Fresh may have been called for nothing.
func KeepSetting(ctx context.Context, s Store, key string, fresh func() ([]byte, error)) (value []byte, err error) {
	read := func(tx *Tx) (err error) {
		value, err = tx.Setting(ctx, key)
		return err
	}
	if err = s.View(ctx, read); !errors.Is(err, ErrNotFound) || fresh == nil {
		return value, err
	}
	made, err := fresh()
	if err != nil {
		return nil, err
	}
	err = s.Update(ctx, func(tx *Tx) error {
		if err := read(tx); !errors.Is(err, ErrNotFound) {
			return err
		}
		value = made
		return tx.PutSetting(ctx, key, made)
	})
	return value, err
}

// Place says where the blobs of the database are for good: in the data directory that has the name, or in the bucket. The setting is
// [SettingDirectory], [SettingBucket] or, if that is not decided, "".
func (tx *Tx) Place(ctx context.Context) (setting, name string, err error) {
	for _, setting := range []string{SettingDirectory, SettingBucket} {
		value, err := tx.Setting(ctx, setting)
		if err == nil || !errors.Is(err, ErrNotFound) {
			return setting, string(value), err
		}
	}
	return "", "", nil
}
