//! Kinds that selectors show.

use rstest::rstest;
use serde_json::json;

use super::*;

const NVIDIA: DeviceKind = DeviceKind::Accelerator(AcceleratorKind::Nvidia);
const ADAPTER: DeviceKind = DeviceKind::Adapter(AdapterKind::Any);

#[rstest]
#[case::gpu(&["device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'"], Some(NVIDIA))]
#[case::mig(&["device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'mig'"], Some(DeviceKind::Partition))]
#[case::not_mig(&["device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type != 'mig'"], Some(NVIDIA))]
#[case::amd(&[r#"device.driver == "gpu.amd.com""#], Some(DeviceKind::Accelerator(AcceleratorKind::Amd)))]
#[case::amd_partition(&[r#"device.driver=="gpu.amd.com""#, r#"device.attributes["gpu.amd.com"].type == "amdgpu-partition""#], Some(DeviceKind::Partition))]
#[case::passthrough(&["device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'vfio'"], Some(DeviceKind::Other))]
#[case::channel(&["device.driver == 'compute-domain.nvidia.com' && device.attributes['compute-domain.nvidia.com'].type == 'channel'"], Some(DeviceKind::Channel))]
#[case::daemon(&["device.driver == 'compute-domain.nvidia.com' && device.attributes['compute-domain.nvidia.com'].type == 'daemon'"], Some(DeviceKind::Other))]
#[case::interface(&[r#"device.driver == "dra.net""#], Some(DeviceKind::Interface))]
#[case::rdma(&[r#"device.driver == "dra.net""#, r#"device.attributes["dra.net"].rdma"#], Some(ADAPTER))]
#[case::rdma_of_several(&["device.driver == 'dra.net' && device.attributes['dra.net']['rdma'] == true && device.attributes['dra.net'].virtual == false"], Some(ADAPTER))]
#[case::without_rdma(&["device.driver == 'dra.net' && device.attributes['dra.net']['rdma'] == false"], Some(DeviceKind::Other))]
#[case::interface_name(&["device.driver == 'dra.net'", "device.attributes['dra.net'].ifName == 'gpu1rdma0'"], Some(ADAPTER))]
#[case::efa(&["device.driver == 'dra.net' &&\n  device.attributes['dra.net'].pciDevice == 'Elastic Fabric Adapter (EFA)'"], Some(DeviceKind::Adapter(AdapterKind::Efa)))]
#[case::not_the_driver(&["!(device.driver == 'gpu.nvidia.com')"], None)]
#[case::gpu_or_mig(&["device.driver == 'gpu.nvidia.com' && (device.attributes['gpu.nvidia.com'].type == 'gpu' || device.attributes['gpu.nvidia.com'].type == 'mig')"], None)]
#[case::negated_mig(&["device.driver == 'gpu.nvidia.com' && !(device.attributes['gpu.nvidia.com'].type == 'mig')"], None)]
#[case::alternatives_without_parentheses(&["device.driver == 'gpu.nvidia.com' && x || device.driver == 'gpu.amd.com'"], None)]
#[case::alternatives_of_a_product(&["device.driver == 'gpu.nvidia.com' && (x == 'H100' || x == 'H200')"], Some(NVIDIA))]
#[case::operators_in_a_string(&["device.driver == 'gpu.nvidia.com' && x == 'a && b || (c'"], Some(NVIDIA))]
#[case::not_efa(&["device.driver == 'dra.net' && device.attributes['dra.net'].pciDevice != 'Elastic Fabric Adapter (EFA)'"], Some(DeviceKind::Interface))]
#[case::efa_by_function(&["device.driver == 'dra.net' && device.attributes['dra.net'].pciDevice.startsWith('Elastic Fabric Adapter')"], Some(DeviceKind::Adapter(AdapterKind::Efa)))]
#[case::not_rdma(&["device.driver == 'dra.net' && !device.attributes['dra.net'].rdma"], Some(DeviceKind::Interface))]
#[case::conditional(&["device.driver == 'dra.net' && (x ? device.attributes['dra.net'].rdma : true)"], Some(DeviceKind::Interface))]
#[case::two_drivers(&["device.driver == 'gpu.nvidia.com' || device.driver == 'gpu.amd.com'"], None)]
#[case::other_driver(&["device.driver == 'qat.intel.com'"], None)]
#[case::none(&[], None)]
fn selectors_show_the_kind(#[case] expressions: &[&str], #[case] expected: Option<DeviceKind>) {
    let selectors: Value = expressions.iter().map(|text| json!({"cel": {"expression": text}})).collect();
    assert_eq!(Traits::from_selectors(Some(&selectors)).kind(), expected);
}

#[rstest]
#[case::selectors(json!(vec![json!({"cel": {"expression": "x"}}); MAX_SELECTORS]), MAX_SELECTORS)]
#[case::expression(json!([]), 0)]
fn selectors_are_bounded(#[case] mut selectors: Value, #[case] listed: usize) {
    let gpu = json!({"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}});
    let list = selectors.as_array_mut().unwrap();
    if listed == MAX_SELECTORS {
        list.push(gpu);
    } else {
        list.push(
            json!({"cel": {"expression": format!("device.driver == 'gpu.nvidia.com'{}", " ".repeat(MAX_EXPRESSION))}}),
        );
    }
    assert_eq!(Traits::from_selectors(Some(&selectors)).kind(), None);
}
