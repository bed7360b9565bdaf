package durable

const nonblock = 0
