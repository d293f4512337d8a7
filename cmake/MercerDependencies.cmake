# Everything comes from Debian 12 packages; `./dev` knows their names and installs them. Nothing is downloaded at build time.

find_package(Threads REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(absl REQUIRED CONFIG)
find_package(TBB REQUIRED CONFIG)
find_package(hwy REQUIRED CONFIG)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)

# Debian lets several BLAS libraries stand side by side; cblas.h and the library must come from the same one, so take both from
# OpenBLAS' own folder rather than from the alternatives system. It contains LAPACK's Fortran symbols; their C declarations are
# those of <Eigen/src/misc/lapack.h>.
find_package(OpenBLAS REQUIRED CONFIG)
add_library(mercer_openblas INTERFACE)
target_include_directories(mercer_openblas SYSTEM INTERFACE ${OpenBLAS_INCLUDE_DIRS})
target_link_libraries(mercer_openblas INTERFACE ${OpenBLAS_LIBRARIES})

# Linear programs. Clp's pkg-config file names a BLAS and a LAPACK as well, which must be those above; CoinUtils, which it is made of,
# finds its own. Its headers, <coin/...>, are in the folder of the system.
find_library(MERCER_CLP Clp REQUIRED)
find_library(MERCER_COIN_UTILS CoinUtils REQUIRED)
find_path(MERCER_CLP_INCLUDE coin/ClpSimplex.hpp REQUIRED)
add_library(mercer_clp INTERFACE)
target_include_directories(mercer_clp SYSTEM INTERFACE ${MERCER_CLP_INCLUDE})
target_link_libraries(mercer_clp INTERFACE ${MERCER_CLP} ${MERCER_COIN_UTILS})

if(MERCER_BUILD_SERVER)
  find_package(Protobuf REQUIRED)
  find_package(gRPC REQUIRED CONFIG)
  find_package(OpenSSL REQUIRED)
  find_package(Boost 1.74 REQUIRED)  # headers alone
  find_package(SQLite3 REQUIRED)
  # Its CMake files ask for the web server and the client of its other libraries as well.
  find_library(MERCER_PROMETHEUS prometheus-cpp-core REQUIRED)
  find_package(spdlog REQUIRED CONFIG)
  find_package(CLI11 REQUIRED CONFIG)
  find_program(MERCER_GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)  # Debian's gRPC config exports no target for it
endif()

if(MERCER_BUILD_TESTS)
  find_package(GTest REQUIRED CONFIG)
  find_package(nlohmann_json REQUIRED CONFIG)
  # Debian's own interpreter, because python3-grpcio belongs to it; another python3 earlier on the PATH would not find it.
  find_program(MERCER_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
endif()

if(MERCER_BUILD_BENCH)
  find_package(benchmark REQUIRED CONFIG)
  find_library(MERCER_LIBSVM svm REQUIRED)
  find_path(MERCER_LIBSVM_INCLUDE libsvm/svm.h REQUIRED)
endif()
