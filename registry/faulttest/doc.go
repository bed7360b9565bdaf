// Package faulttest holds tests that break a registry: they kill its process, fill its disk,
// flip bits of its files, starve its connections, and collect garbage under load. Then
// they ask whether what was promised still holds:
//
//   - Every acknowledged publish is there, whole, and in the log; nothing else is visible.
//   - Live content is served, at every moment; garbage is removed.
//   - A damaged byte never leaves the server.
//   - A client that is slow, or stops half-way, costs the others nothing and leaves nothing behind.
//
// They run servers over real files and sockets, with fsync on; those that kill or measure a process
// start one of their own. SKL_FAULT_KILLS and SKL_FAULT_SECONDS in the environment make the long ones longer.
package faulttest
