// Command device-plugin advertises devices that do not exist to a kubelet, with its device plugin API. The environment
// of a container contains the names of its devices: rdma/ib as TEST_RDMA_IB=0,1.
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

// Interval of checks for a restarted kubelet.
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

// serve registers all plugins, again whenever the kubelet has a new socket: a restarted kubelet has lost all
// plugins and removed the plugins' sockets.
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
