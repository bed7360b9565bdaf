// Package deploy holds the files that run a registry as a service; "skl registry init" writes them.
package deploy

import _ "embed"

// Service is the systemd unit skl-registry.service.
//
//go:embed skl-registry.service
var Service string
