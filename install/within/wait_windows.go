package within

const noWait = 0 // nothing in a Windows directory makes an open wait
