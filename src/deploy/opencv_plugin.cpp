// SPDX-License-Identifier: MIT
// opencv_plugin.cpp: OpenCV's DNN module behind a C interface. A library of its own, which weft loads
// when a platform names the engine `opencv`.
#include "opencv_plugin.h"

#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <opencv2/core.hpp>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/dnn.hpp>

namespace {

struct network {
    cv::dnn::Net net;
    std::vector<cv::String> output;
    std::vector<cv::Mat> result;
};

// What has just been thrown, in one line.
void tell(char *error, size_t size)
{
    try {
        throw;
    } catch (const cv::Exception &e) {
        std::snprintf(error, size, "%s", e.err.c_str());
    } catch (const std::exception &e) {
        std::snprintf(error, size, "%s", e.what());
    } catch (...) {
        std::snprintf(error, size, "unknown exception");
    }
    error[std::strcspn(error, "\r\n")] = '\0';
}

void *open_network(const char *path, int n_threads, char *error, size_t size)
{
    try {
        std::unique_ptr<network> n(new network);

        cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
        cv::setNumThreads(n_threads);
        n->net = cv::dnn::readNetFromONNX(path);
        n->net.setPreferableBackend(cv::dnn::DNN_BACKEND_OPENCV);
        return n.release();
    } catch (...) {
        tell(error, size);
        return nullptr;
    }
}

void close_network(void *of)
{
    delete static_cast<network *>(of);
}

int set_input(void *of, const char *name, const int64_t *dim, int rank, void *data, char *error,
              size_t size)
{
    try {
        std::vector<int> shape(dim, dim + rank);

        static_cast<network *>(of)->net.setInput(cv::Mat(rank, shape.data(), CV_32F, data), name);
        return 1;
    } catch (...) {
        tell(error, size);
        return 0;
    }
}

int copy(const cv::Mat &from, const char *name, void *to, size_t bytes, char *error, size_t size)
{
    if (from.total() * from.elemSize() == bytes && from.isContinuous()) {
        std::memcpy(to, from.data, bytes);
        return 1;
    }
    std::snprintf(error, size, "'%s' has %zu bytes, expected %zu", name,
                  from.total() * from.elemSize(), bytes);
    return 0;
}

int run_network(void *of, int n, const char *const *name, void *const *to, const size_t *bytes,
                char *error, size_t size)
{
    network *net = static_cast<network *>(of);

    try {
        net->output.assign(name, name + n);
        net->net.forward(net->result, net->output);
        for (int i = 0; i < n; i++)
            if (!copy(net->result[i], name[i], to[i], bytes[i], error, size))
                return 0;
        return 1;
    } catch (...) {
        tell(error, size);
        return 0;
    }
}

const weft_opencv_plugin plugin = {CV_VERSION, open_network, close_network, set_input, run_network};

} // namespace

extern "C" const weft_opencv_plugin *weft_opencv(void)
{
    return &plugin;
}
