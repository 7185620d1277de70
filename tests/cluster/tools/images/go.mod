module trainmesh.test/tools/images

go 1.26.0
