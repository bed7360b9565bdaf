package tool

const nonblock = 0

const exeSuffix = ".exe"
