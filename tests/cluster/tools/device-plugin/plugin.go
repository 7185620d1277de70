package main

import (
	"context"
	"log"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// Enough for a kubelet that has just started.
const patience = 5 * time.Second

// A plugin advertises the devices of one resource, all of them always healthy.
type plugin struct {
	api.UnimplementedDevicePluginServer
	resource string
	devices  []*api.Device
	socket   string
	server   *grpc.Server
}

func newPlugin(resource string, count int) *plugin {
	plugin := &plugin{resource: resource}
	for number := range count {
		plugin.devices = append(plugin.devices, &api.Device{ID: strconv.Itoa(number), Health: api.Healthy})
	}
	return plugin
}

// listen serves the kubelet on a new socket.
func (p *plugin) listen() error {
	if p.server != nil {
		p.server.Stop()
	}
	if err := os.Remove(p.socket); err != nil && !os.IsNotExist(err) {
		return err
	}
	listener, err := net.Listen("unix", p.socket)
	if err != nil {
		return err
	}
	p.server = grpc.NewServer()
	api.RegisterDevicePluginServer(p.server, p)
	go func(server *grpc.Server) {
		if err := server.Serve(listener); err != nil {
			log.Printf("%s: %v", p.resource, err)
		}
	}(p.server)
	return nil
}

func (p *plugin) register(kubelet string) error {
	connection, err := grpc.NewClient("unix://"+kubelet, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	request := &api.RegisterRequest{Version: api.Version, Endpoint: filepath.Base(p.socket), ResourceName: p.resource}
	_, err = api.NewRegistrationClient(connection).Register(ctx, request)
	return err
}

// GetDevicePluginOptions returns no options.
func (p *plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{}, nil
}

// ListAndWatch sends the devices once; they never change.
func (p *plugin) ListAndWatch(_ *api.Empty, stream grpc.ServerStreamingServer[api.ListAndWatchResponse]) error {
	if err := stream.Send(&api.ListAndWatchResponse{Devices: p.devices}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

// Allocate puts the device names into the containers' environments.
func (p *plugin) Allocate(_ context.Context, request *api.AllocateRequest) (*api.AllocateResponse, error) {
	response := &api.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		env := map[string]string{p.variable(): strings.Join(container.DevicesIds, ",")}
		response.ContainerResponses = append(response.ContainerResponses, &api.ContainerAllocateResponse{Envs: env})
	}
	return response, nil
}

// variable returns the name of the environment variable, such as TEST_RDMA_IB for rdma/ib.
func (p *plugin) variable() string {
	return "TEST_" + strings.ToUpper(strings.NewReplacer("/", "_", ".", "_", "-", "_").Replace(p.resource))
}
