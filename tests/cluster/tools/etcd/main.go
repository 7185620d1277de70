// Command etcd is etcd's own server, built from its Go module: the module's
// top-level main package is not part of any published module zip.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
