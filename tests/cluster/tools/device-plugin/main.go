// Command device-plugin offers devices that do not exist to a kubelet, by its device plugin API. A container that gets
// some finds their names in its environment: rdma/ib as TEST_RDMA_IB=0,1.
package main

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const usage = `usage: device-plugin FOLDER RESOURCE=COUNT…

FOLDER is where the kubelet has its device plugins' sockets.`

// How soon a kubelet that was restarted is met again.
const pause = 200 * time.Millisecond

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
	var plugins []*plugin
	for number, offer := range os.Args[2:] {
		plugin, err := parse(offer)
		if err != nil {
			fmt.Fprintf(os.Stderr, "Error: offer %q: %v\n%s\n", offer, err, usage)
			os.Exit(2)
		}
		plugin.socket = filepath.Join(os.Args[1], fmt.Sprintf("test-%d.sock", number))
		plugins = append(plugins, plugin)
	}
	serve(plugins, filepath.Join(os.Args[1], "kubelet.sock"))
}

// serve registers all plugins, anew whenever the kubelet has another socket: a restarted one has forgotten them, and has
// removed their sockets.
func serve(plugins []*plugin, kubelet string) {
	var known os.FileInfo
	for ; ; time.Sleep(pause) {
		found, err := os.Stat(kubelet)
		if err != nil || known != nil && os.SameFile(found, known) && found.ModTime().Equal(known.ModTime()) {
			continue
		}
		if err := start(plugins, kubelet); err != nil {
			log.Printf("not registered, will try again: %v", err)
			continue
		}
		known = found
	}
}

func start(plugins []*plugin, kubelet string) error {
	for _, plugin := range plugins {
		if err := errors.Join(plugin.listen(), plugin.register(kubelet)); err != nil {
			return fmt.Errorf("%s: %w", plugin.resource, err)
		}
		log.Printf("registered %s: %d", plugin.resource, len(plugin.devices))
	}
	return nil
}

func parse(offer string) (*plugin, error) {
	resource, text, _ := strings.Cut(offer, "=")
	count, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, err
	}
	return newPlugin(resource, int(count)), nil
}
