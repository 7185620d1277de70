package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	connections = 50
	warmUp      = 500 * time.Millisecond
)

// runLoad posts one body repeatedly on some connections and prints the responses per second. It writes prepared
// requests and parses as little of a response as possible: the client is not what is measured.
func runLoad(arguments []string) {
	p := pair{pem: must(os.ReadFile(arguments[0]))}
	address, path, _ := strings.Cut(arguments[1], "/")
	body := must(os.ReadFile(arguments[2]))
	length := must(time.ParseDuration(arguments[3]))
	var request bytes.Buffer
	fmt.Fprintf(&request, "POST /%s?timeout=5s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
		path, address, len(body))
	request.Write(body)

	var answers atomic.Int64
	var stop atomic.Bool
	var group sync.WaitGroup
	for range connections {
		connection := must(tls.Dial("tcp", address, p.client()))
		group.Go(func() {
			defer connection.Close()
			reader := bufio.NewReader(connection)
			for !stop.Load() {
				must(connection.Write(request.Bytes()))
				answer := must(http.ReadResponse(reader, nil))
				if answer.StatusCode != http.StatusOK {
					log.Panicf("%s: %s", arguments[1], answer.Status)
				}
				must(io.Copy(io.Discard, answer.Body))
				answers.Add(1)
			}
		})
	}
	time.Sleep(warmUp)
	before, began := answers.Load(), time.Now()
	time.Sleep(length)
	fmt.Println(float64(answers.Load()-before) / time.Since(began).Seconds())
	stop.Store(true)
	group.Wait()
}
