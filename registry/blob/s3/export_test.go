package s3

import "time"

// Limits changes what a store has as constants.
func Limits(s *Store, leftAge, linkTime time.Duration, pageSize int) {
	s.leftAge, s.linkTime, s.pageSize = leftAge, linkTime, pageSize
}

// IsKey is isKey.
var IsKey = isKey

// Parts are what an address says.
func Parts(a Address) (bucket, prefix, endpoint, region string) {
	return a.bucket, a.prefix, a.endpoint.String(), a.region
}
